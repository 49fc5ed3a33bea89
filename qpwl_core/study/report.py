def write_report(*a): return []
