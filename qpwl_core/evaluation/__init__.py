"""How well distances tell people apart: who is drawn, the experiment of the paper, metrics, resampling, reasons."""
