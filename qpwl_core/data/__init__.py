"""Recordings of people: the container, files, data sets, splits, preprocessing recipes, simulators."""
