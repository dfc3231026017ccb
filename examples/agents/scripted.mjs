#!/usr/bin/env node
// The scripted agent of the tests: it follows instructions in its prompt.
await import('../../test/fixtures/acp/agent.ts')
