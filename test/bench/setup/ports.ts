/** For programs that cannot choose a port themselves, or do not say when they listen. */
import { connect } from 'node:net'

/** Resolves when somebody listens there. */
export async function listening(port: number, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await isOpen(port))) {
    if (performance.now() > end) throw new Error(`nobody listens on ${port} within ${withinMs} ms`)
    await new Promise(resolve => setTimeout(resolve, 10))
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
