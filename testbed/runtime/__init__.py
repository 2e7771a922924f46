"""One node in any backend: its application, its agent, the driver between them and the protocol stack below."""
