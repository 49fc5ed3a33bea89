"""From recordings to embeddings: networks, aggregations, losses, methods, one Config, trained models, galleries."""
