"""gradviz in test suites: the pytest plugin, and graphs to compare with."""
