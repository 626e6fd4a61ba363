## api: see src/README.md
