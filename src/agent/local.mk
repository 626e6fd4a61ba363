## agent: see src/README.md
