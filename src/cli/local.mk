## cli: see src/README.md
