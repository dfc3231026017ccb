// Runs the official suite's task scenarios at the fixture, and at it through the gateway: node test/proof/tasks-conformance.ts
import { execFile } from 'node:child_process'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { testGateway } from '../../src/testing/index.ts'
import { taskServer } from '../fixtures/tasks.ts'

const SCENARIOS = [
  'lifecycle',
  'capability-negotiation',
  'wire-fields',
  'request-state-removal',
  'mrtr-input',
  'request-headers',
  'dispatch-and-envelope',
  'status-notifications',
  'required-task-error',
  'mrtr-composition',
]
const LIMIT_MS = 60_000
const SUITE = join(
  dirname(findPackageJSON('@modelcontextprotocol/conformance', import.meta.url) ?? ''),
  'dist',
  'index.js',
)

const server = await taskServer('modern')
const gateway = await testGateway({
  config: { upstreams: { t: { type: 'http', url: server.url, prefix: '' } } },
})
console.log(`${'scenario'.padEnd(32)} direct   gateway`)
for (const name of SCENARIOS) {
  const [direct, through] = [await passed(name, server.url), await passed(name, gateway.url)]
  console.log(`${`tasks-${name}`.padEnd(32)} ${direct.padEnd(8)} ${through}`)
}
await gateway.gateway.close()
await server.stop()

/** Checks of a scenario that pass, and all of them. */
function passed(name: string, url: string): Promise<string> {
  const args = [SUITE, 'server', '--url', url, '--scenario', `tasks-${name}`]
  return new Promise(resolve => {
    execFile(process.execPath, args, { timeout: LIMIT_MS }, (_error, stdout, stderr) => {
      const text = stripVTControlCharacters(stdout + stderr)
      resolve(/Passed: (\d+\/\d+)/.exec(text)?.[1] ?? 'broken')
    })
  })
}
