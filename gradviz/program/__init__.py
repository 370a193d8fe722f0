"""What a run did, in order, whatever the engine: the log that the rules read."""
