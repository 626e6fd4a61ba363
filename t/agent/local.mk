## t/agent
