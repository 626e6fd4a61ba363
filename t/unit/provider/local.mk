## unit tests of src/provider
