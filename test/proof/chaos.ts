/**
 * Calls through a faulty network: 10,000 of them for each of nine faults, and each has one outcome, in time, carried out once at most.
 * `npm run proof -- chaos`, about 5 minutes; CALLS=1000 for a shorter look.
 */
import { serveHttpGateway } from '../peers/gateway.ts'
import { chaos, holds, runAll, SLACK_MS, TIMEOUT_MS } from './chaos/calls.ts'

const CALLS = Number(process.env.CALLS ?? 10_000)
const setting = await chaos()
const gateway = await serveHttpGateway({
  version: 1,
  listeners: { main: { type: 'http', port: 0 } },
  upstreams: setting.upstreams,
})
let isFine = true
try {
  await runAll(setting, gateway.url, CALLS, found => {
    const isHeld = holds(found, SLACK_MS)
    isFine &&= isHeld
    console.log(
      `${found.fault.padEnd(25)} ${found.calls} calls, ${found.wrong} wrong, ${found.repeated} repeated, longest ` +
        `${found.longestMs.toFixed(0)} of ${TIMEOUT_MS}+${SLACK_MS} ms (lag here ${found.lagMs.toFixed(0)} ms) ` +
        `${JSON.stringify(found.codes)} · ${isHeld ? 'holds' : 'DOES NOT HOLD'}`,
    )
  })
} finally {
  await gateway.stop()
  await setting.close()
}
console.log(isFine ? '\nevery line holds, and the gateway is alive' : '\nNOT every line holds')
process.exit(isFine ? 0 : 1)
