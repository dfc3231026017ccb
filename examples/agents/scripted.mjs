#!/usr/bin/env node
// The scripted agent of the tests: it does what is written in its prompt.
await import('../../test/fixtures/acp/agent.ts')
