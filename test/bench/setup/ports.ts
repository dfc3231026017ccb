/** For programs that cannot choose a port themselves, or do not say when they listen. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'

/** One that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves when somebody listens there. */
export function listening(port: number, withinMs: number): Promise<void> {
  return until(() => isOpen(port), withinMs, `nobody listens on ${port}`)
}

/** Looks again and again until it holds. */
export async function until(
  holds: () => Promise<boolean>,
  withinMs: number,
  otherwise: string,
  pauseMs = 10,
): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${otherwise} within ${withinMs} ms`)
    await new Promise(resolve => setTimeout(resolve, pauseMs))
  }
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    return await new Promise<boolean>(resolve => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
  } finally {
    socket.destroy()
  }
}
