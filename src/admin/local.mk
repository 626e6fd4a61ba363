## admin: see src/README.md
