/**
 * Three replicas behind a haproxy and an nginx that give every request to another one, on a Redis of their own: clients of both
 * SDKs and both eras call without a pause while replicas are killed, stopped, cut off and restarted, and Redis is restarted, slow
 * and stopped. What was lost, mixed up and begun anew is counted. Then the official suite through both.
 *
 *     npm run proof -- replicas [chaos|nginx|conformance] [part of the name of what happens]
 */
import { chaos } from './chaos.ts'
import { conformance } from './conformance.ts'

const [part = 'all', phase = ''] = process.argv.slice(2)
const PARTS: Readonly<Record<string, () => Promise<boolean>>> = {
  chaos: () => chaos('haproxy', phase),
  nginx: () => chaos('nginx', phase || 'rolling'),
  conformance,
}

// What a client does on its own behalf, such as its stream, may fail when nobody waits for it.
process.on('unhandledRejection', () => undefined)
let isFine = true
for (const [name, run] of Object.entries(PARTS)) {
  if (part !== 'all' && part !== name) continue
  console.log(`\n${name}`)
  isFine = (await run()) && isFine
}
process.exitCode = isFine ? 0 : 1
process.exit()
