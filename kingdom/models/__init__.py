"""What travels in files: frozen records that check themselves, and never touch a disk."""
