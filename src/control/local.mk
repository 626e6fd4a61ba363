## control: see src/README.md
