## unit tests of src/control
