"""FileBus: the queues as directories that anyone can follow with `ls` and `cat`."""
