import { listenStdio } from '../../src/transport/listen-stdio.ts'
import { FakeGate, makeListener, realClock } from './listen-fake-gate.ts'

// A program that is nothing but a stdio listener.
const listener = makeListener(listenStdio, { type: 'stdio' }, new FakeGate(), realClock)
await listener.start()
await listener.ended
