"""What `make bench` runs. A row compares what we measure with a reference measured in the same run."""
