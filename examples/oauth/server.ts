// A server that requires OAuth tokens, with its authorization server: node server.ts
import { testUpstream } from 'tapgate/testing'
import { loginServer } from '../../test/fixtures/oauth/login-server.ts'

const behind = await testUpstream({
  name: 'notes',
  tools: { read: () => 'nothing was noted yet' },
})
const server = await loginServer(behind.url)
console.log(`export NOTES_URL=${server.url}`)
