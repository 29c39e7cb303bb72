"""The sandbox around a soldier: what it sees of the disk, the network and other processes."""
