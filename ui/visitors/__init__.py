"""Who is there: the door of a class, and whose things are whose. In `make run` there is one person and no door."""
