"""The ground: error messages, refusals, warnings, source sites and handles."""
