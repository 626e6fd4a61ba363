## unit tests of src/store
