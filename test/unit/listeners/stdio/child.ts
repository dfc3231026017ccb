import { listenStdio } from '../../../../src/listeners/stdio/stdio-listener.ts'
import { FakeGate, makeListener, realClock } from '../http/fake-gate.ts'

// A program that is nothing but a stdio listener.
const listener = makeListener(listenStdio, { type: 'stdio' }, new FakeGate(), realClock)
await listener.start()
await listener.ended
