"""What a kingdom needs of its machine, and whether it is there. It changes nothing."""
