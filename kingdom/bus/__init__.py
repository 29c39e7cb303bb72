"""Delivery: the port every role depends on, and its adapters. Only this room writes `queue/`."""
