"""One module per format: what turns files into Recordings and back. Use ``load_recordings`` and ``Recordings.save``."""
