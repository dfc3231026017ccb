/**
 * Two workers are one gateway: clients of both eras call without a pause while a worker is killed, the configuration is
 * reloaded and the other worker is killed; what was lost and what was mixed up is counted. Then what a second process brings
 * and costs, beside one.
 *
 *     npm run proof -- workers [--figures | --chaos]
 */
import { chaos } from './workers/chaos.ts'
import { figures } from './workers/figures.ts'

const wanted = process.argv.slice(2)
const isFine = wanted.includes('--figures') || (await chaos())
if (!wanted.includes('--chaos')) await figures()
process.exitCode = isFine ? 0 : 1
process.exit()
