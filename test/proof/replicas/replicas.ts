/**
 * Three replicas behind a haproxy that gives every request to another one, on a Redis of their own: clients of both SDKs and both
 * eras call without a pause while replicas are killed and stopped, and Redis is restarted. What was lost, mixed up and begun
 * anew is counted.
 *
 *     npm run proof -- replicas
 */
import { chaos } from './chaos.ts'

// What a client does on its own behalf, such as its stream, may fail when nobody waits for it.
process.on('unhandledRejection', () => undefined)
process.exitCode = (await chaos()) ? 0 : 1
process.exit()
