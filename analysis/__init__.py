"""Analysis: reads what runs logged and says whether they were safe, how long nodes waited and what it cost.

It reads run directories and nothing else. The same classes also listen to a run while it goes on, so a verdict and a
number mean the same on line and from the log.
"""
