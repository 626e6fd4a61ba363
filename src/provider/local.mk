## provider: see src/README.md
