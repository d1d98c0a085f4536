"""Running an optimizer on a problem: evaluation, workers, polishing, pictures."""
