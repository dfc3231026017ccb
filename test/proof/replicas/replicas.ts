/**
 * Three replicas behind a haproxy that gives every request to another one, on a Redis of their own: clients of both SDKs and
 * both eras call without a pause while replicas are killed, stopped, cut off and restarted, and Redis is restarted, slow and
 * stopped. What was lost, mixed up and begun anew is counted.
 *
 *     npm run proof -- replicas [part of the name of what happens]
 */
import { chaos } from './chaos.ts'

// What a client does on its own behalf, such as its stream, may fail when nobody waits for it.
process.on('unhandledRejection', () => undefined)
process.exit((await chaos(process.argv[2] ?? '')) ? 0 : 1)
