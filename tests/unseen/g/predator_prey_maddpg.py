"""WRONG. Updating the critic first and then the actor (as in the paper) ends in an inplace-operation error in actor_loss.backward().
TRUTH: actor_loss was computed through the critic before critic_optim.step() changed the critic's weights in place; do the critic's update before the actor loss is computed (or step the critic after the actor's backward).
THREAD: https://github.com/starry-sky6688/MADDPG/issues/27
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim, max_action=1.0):
        super(Actor, self).__init__()
        self.max_action = max_action
        self.fc1 = nn.Linear(obs_dim, 32)
        self.fc2 = nn.Linear(32, 32)
        self.action_out = nn.Linear(32, act_dim)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.max_action * torch.tanh(self.action_out(x))


class Critic(nn.Module):
    def __init__(self, n_agents, obs_dim, act_dim, max_action=1.0):
        super(Critic, self).__init__()
        self.max_action = max_action
        self.fc1 = nn.Linear(n_agents * (obs_dim + act_dim), 32)
        self.fc2 = nn.Linear(32, 32)
        self.q_out = nn.Linear(32, 1)

    def forward(self, state, action):
        state = torch.cat(state, dim=1)
        action = torch.cat([a / self.max_action for a in action], dim=1)
        x = torch.cat([state, action], dim=1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.q_out(x)


class MADDPG:
    def __init__(self, agent_id, n_agents, obs_dim, act_dim):
        self.agent_id = agent_id
        self.gamma, self.tau = 0.95, 0.01
        self.actor_network = Actor(obs_dim, act_dim)
        self.critic_network = Critic(n_agents, obs_dim, act_dim)
        self.actor_target_network = Actor(obs_dim, act_dim)
        self.critic_target_network = Critic(n_agents, obs_dim, act_dim)
        self.actor_target_network.load_state_dict(self.actor_network.state_dict())
        self.critic_target_network.load_state_dict(self.critic_network.state_dict())
        self.actor_optim = torch.optim.Adam(self.actor_network.parameters(), lr=1e-4)
        self.critic_optim = torch.optim.Adam(self.critic_network.parameters(), lr=1e-3)

    def _soft_update_target_network(self):
        for target_param, param in zip(self.actor_target_network.parameters(), self.actor_network.parameters()):
            target_param.data.copy_((1 - self.tau) * target_param.data + self.tau * param.data)
        for target_param, param in zip(self.critic_target_network.parameters(), self.critic_network.parameters()):
            target_param.data.copy_((1 - self.tau) * target_param.data + self.tau * param.data)

    def train(self, transitions, other_agents):
        for key in transitions.keys():
            transitions[key] = torch.tensor(transitions[key], dtype=torch.float32)
        n = len(other_agents) + 1
        r = transitions['r_%d' % self.agent_id]
        o = [transitions['o_%d' % i] for i in range(n)]
        u = [transitions['u_%d' % i] for i in range(n)]
        o_next = [transitions['o_next_%d' % i] for i in range(n)]

        u_next = []
        with torch.no_grad():
            index = 0
            for agent_id in range(n):
                if agent_id == self.agent_id:
                    u_next.append(self.actor_target_network(o_next[agent_id]))
                else:
                    u_next.append(other_agents[index].actor_target_network(o_next[agent_id]))
                    index += 1
            q_next = self.critic_target_network(o_next, u_next)
            target_q = r.unsqueeze(1) + self.gamma * q_next

        q_value = self.critic_network(o, u)
        critic_loss = (target_q - q_value).pow(2).mean()

        u[self.agent_id] = self.actor_network(o[self.agent_id])
        actor_loss = -self.critic_network(o, u).mean()  # CULPRIT

        self.critic_optim.zero_grad()
        critic_loss.backward()
        self.critic_optim.step()  # CULPRIT

        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()

        self._soft_update_target_network()
        return critic_loss.item(), actor_loss.item()


class Buffer:
    def __init__(self, size, n_agents, obs_dim, act_dim, rng):
        self.size, self.n, self.current, self.rng = size, n_agents, 0, rng
        self.buffer = {}
        for i in range(n_agents):
            self.buffer['o_%d' % i] = np.empty([size, obs_dim])
            self.buffer['u_%d' % i] = np.empty([size, act_dim])
            self.buffer['r_%d' % i] = np.empty([size])
            self.buffer['o_next_%d' % i] = np.empty([size, obs_dim])

    def store(self, o, u, r, o_next):
        for i in range(self.n):
            self.buffer['o_%d' % i][self.current] = o[i]
            self.buffer['u_%d' % i][self.current] = u[i]
            self.buffer['r_%d' % i][self.current] = r[i]
            self.buffer['o_next_%d' % i][self.current] = o_next[i]
        self.current += 1

    def sample(self, batch):
        idx = self.rng.integers(0, self.current, batch)
        return {k: v[idx] for k, v in self.buffer.items()}


def main():
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    n_agents, obs_dim, act_dim = 3, 4, 2
    agents = [MADDPG(i, n_agents, obs_dim, act_dim) for i in range(n_agents)]
    memory = Buffer(1000, n_agents, obs_dim, act_dim, rng)
    obs = rng.normal(size=(n_agents, obs_dim))
    for step in range(400):
        with torch.no_grad():
            acts = [a.actor_network(torch.tensor(obs[i], dtype=torch.float32)).numpy() for i, a in enumerate(agents)]
        acts = [np.clip(a + 0.2 * rng.normal(size=act_dim), -1, 1) for a in acts]
        nxt = 0.9 * obs + 0.1 * rng.normal(size=obs.shape)
        nxt[:, :act_dim] += 0.1 * np.stack(acts)
        memory.store(obs, acts, -np.abs(nxt[:, :act_dim]).sum(1), nxt)
        obs = nxt
        if memory.current >= 64 and step % 4 == 0:
            batch = memory.sample(32)
            for agent in agents:
                others = [a for a in agents if a is not agent]
                losses = agent.train(dict(batch), others)
        if step % 100 == 99:
            print(step, 'critic %.3f actor %.3f' % losses)


if __name__ == '__main__':
    main()
