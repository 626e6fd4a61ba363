## reaper: see src/README.md
