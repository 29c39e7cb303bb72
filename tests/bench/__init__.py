"""How fast the bus is, measured against bare floors and against peers, in one run."""
