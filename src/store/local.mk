## store: see src/README.md
