"""How a soldier is started and read: one module per engine, behind `port.Engine`."""
