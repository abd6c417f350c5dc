"""Names under which other software looks for torchlite."""
