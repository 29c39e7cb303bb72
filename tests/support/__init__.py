"""What tests share: base directories, clocks that can be moved, messages, crashes."""
