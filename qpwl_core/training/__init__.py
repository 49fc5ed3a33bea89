"""How a model learns: batches of pairs, the state of a run, one loop, many processes, tuning, what it costs."""
