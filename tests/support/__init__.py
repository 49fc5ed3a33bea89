"""What tests, benchmarks and scripts share: small data, oracles, a browser on a server."""
