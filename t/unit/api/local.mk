## unit tests of src/api
