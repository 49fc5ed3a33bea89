"""What pages share and keep: models, data, downloads, jobs, comparisons."""
