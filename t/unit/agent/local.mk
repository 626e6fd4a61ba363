## unit tests of src/agent
