"""WRONG. The actor-critic agent learns exactly like plain REINFORCE: the critic gets good, but it does not affect the actor at all.
TRUTH: the policy loss uses the returns themselves; it should use the advantage, returns minus the critic's detached values (returns - values.detach()).
THREAD: https://github.com/bentrevett/pytorch-rl/issues/2
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributions as distributions
import torch.optim as optim

torch.manual_seed(0)
DISCOUNT_FACTOR = 0.5
MAX_EPISODES = 200
BATCH = 8


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super().__init__()
        self.fc_1 = nn.Linear(input_dim, hidden_dim)
        self.fc_2 = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        return self.fc_2(F.relu(self.fc_1(x)))


class ActorCritic(nn.Module):
    def __init__(self, actor, critic):
        super().__init__()
        self.actor = actor
        self.critic = critic

    def forward(self, state):
        return self.actor(state), self.critic(state)


class Corridor:
    """a pay that goes with the level of the state, plus one for the right one of three actions"""

    def reset(self):
        self.t = 0
        self.state = torch.cat([torch.randn(3), torch.ones(1)])
        return self.state

    def step(self, action):
        right = int(self.state[1] > 0) + int(self.state[2] > 0)
        reward = 6 + 3 * self.state[0].item() + float(action == right)
        self.t += 1
        self.state = torch.cat([self.state[:1], torch.randn(2), torch.tensor([1 - self.t / 3])])
        return self.state, reward, self.t == 6, float(action == right)


def calculate_returns(rewards, discount_factor):
    returns, R = [], 0
    for r in reversed(rewards):
        R = r + R * discount_factor
        returns.insert(0, R)
    return torch.tensor(returns)


def update_policy(returns, log_prob_actions, values, optimizer):
    returns = returns.detach()
    policy_loss = - (returns * log_prob_actions).mean()  # CULPRIT
    value_loss = F.smooth_l1_loss(values, returns).mean()
    optimizer.zero_grad()
    policy_loss.backward()
    value_loss.backward()
    optimizer.step()
    return policy_loss.item(), value_loss.item()


def train(env, policy, optimizer):
    policy.train()
    all_logp, all_v, all_ret, hits = [], [], [], []
    for _ in range(BATCH):
        rewards, done, state = [], False, env.reset()
        while not done:
            action_pred, value_pred = policy(state.unsqueeze(0))
            dist = distributions.Categorical(F.softmax(action_pred, dim=-1))
            action = dist.sample()
            state, reward, done, hit = env.step(action.item())
            all_logp.append(dist.log_prob(action))
            all_v.append(value_pred.squeeze(-1))
            rewards.append(reward)
            hits.append(hit)
        all_ret.append(calculate_returns(rewards, DISCOUNT_FACTOR))
    losses = update_policy(torch.cat(all_ret), torch.cat(all_logp), torch.cat(all_v), optimizer)
    return losses, sum(hits) / len(hits)


policy = ActorCritic(MLP(4, 32, 3), MLP(4, 64, 1))
optimizer = optim.Adam([{'params': policy.actor.parameters(), 'lr': 1e-2},
                        {'params': policy.critic.parameters(), 'lr': 2e-2}])
env, log = Corridor(), []
for episode in range(1, MAX_EPISODES + 1):
    losses, hit = train(env, policy, optimizer)
    log.append(hit)
    if episode % 50 == 0:
        print('| Episode: %3d | Right actions: %.3f | Value loss: %.3f' % (episode, sum(log[-25:]) / 25, losses[1]))
