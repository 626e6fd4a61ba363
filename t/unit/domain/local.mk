## unit tests of src/domain
